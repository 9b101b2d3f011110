"""Claims of Lee and Cho 2023: learning an initialisation by maximum mean discrepancy."""
